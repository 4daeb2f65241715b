// The API reference: Swagger UI with two changes.
"use strict";

const STREAM = "text/event-stream";

/** For event streams, which never end, shows a curl command in place of the button. */
const execute = (Execute, { React, getStore }) => (props) => {
  const { operation, oas3Selectors, path, method } = props;
  const chosen = () => oas3Selectors.responseContentType(path, method);
  const accepted = React.useSyncExternalStore(getStore().subscribe, chosen);
  const offered = operation.getIn(["responses", "200", "content"]);
  if ((accepted || (offered && offered.keySeq().first())) !== STREAM) {
    return React.createElement(Execute, props);
  }
  const curl = `curl -N -H "Authorization: Bearer $CORK_TOKEN" -H "Accept: ${STREAM}" ${location.origin}${path}`;
  const said = "This page cannot show an endless stream. Follow it in a shell: ";
  return React.createElement("p", { className: "endless" }, said, React.createElement("code", null, curl));
};

/** Collapses the problem responses, which are the same on all routes, to one line each. */
const responses = (Responses, { React }) => (props) => {
  const element = React.createElement;
  const isProblem = (_, status) => Number(status) >= 400;
  const problems = props.responses.filter(isProblem);
  const lines = problems.entrySeq().flatMap(([status, problem]) => [
    element("dt", { key: status }, status),
    element("dd", { key: `${status}:` }, problem.get("description")),
  ]);
  const summary = "Problems: application/problem+json with status, title, detail, kind and code";
  const folded = element("details", { className: "problems" }, element("summary", null, summary), element("dl", null, lines));
  const rest = element(Responses, { ...props, responses: props.responses.filterNot(isProblem) });
  return element(React.Fragment, null, rest, problems.isEmpty() ? null : folded);
};

window.ui = SwaggerUIBundle({
  url: "/openapi.json",
  dom_id: "#swagger-ui",
  layout: "BaseLayout",
  deepLinking: true,
  docExpansion: "none",
  defaultModelsExpandDepth: -1,
  filter: true,
  tryItOutEnabled: true,
  presets: [SwaggerUIBundle.presets.apis],
  plugins: [() => ({ wrapComponents: { execute, responses } })],
});
