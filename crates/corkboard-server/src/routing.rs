//! Routes with their annotations. Tests generate the OpenAPI description from them. The program itself does not contain
//! that code.

use std::pin::Pin;

use axum::Router;
use axum::extract::Request;
use axum::handler::Handler;
use axum::response::Response;
use axum::routing::on;
use utoipa::__dev::{SchemaReferences, Tags};
use utoipa::Path;
use utoipa::openapi::path::HttpMethod;
#[cfg(test)]
use utoipa::openapi::{OpenApi, RefOr, Schema, path::Operation};
use utoipa_axum::PathItemExt;

use crate::Server;

/// Routes with their descriptions.
#[derive(Default)]
pub(crate) struct Routes(Vec<Route>);

/// A handler with its path and methods.
pub(crate) struct Route {
    path: String,
    methods: Vec<HttpMethod>,
    handler: ErasedHandler,
    tags: Vec<&'static str>,
    #[cfg(test)]
    operation: fn() -> Operation,
    #[cfg(test)]
    schemas: fn(&mut Vec<(String, RefOr<Schema>)>),
}

/// A handler as a function pointer, so that axum's routing code is compiled once and not for each handler.
#[derive(Clone, Copy)]
struct ErasedHandler(fn(Request, Server) -> ResponseFuture);

pub(crate) type ResponseFuture = Pin<Box<dyn Future<Output = Response> + Send>>;

impl Handler<(), Server> for ErasedHandler {
    type Future = ResponseFuture;

    fn call(self, request: Request, server: Server) -> ResponseFuture {
        (self.0)(request, server)
    }
}

impl Route {
    pub(crate) fn new<P: Path + SchemaReferences + Tags<'static>>(
        handler: fn(Request, Server) -> ResponseFuture,
    ) -> Self {
        Self {
            path: P::path(),
            methods: P::methods(),
            handler: ErasedHandler(handler),
            tags: P::tags(),
            #[cfg(test)]
            operation: P::operation,
            #[cfg(test)]
            schemas: P::schemas,
        }
    }
}

impl<const N: usize> From<[Route; N]> for Routes {
    fn from(routes: [Route; N]) -> Self {
        Self(routes.into())
    }
}

impl Routes {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    pub(crate) fn merge(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    /// Sets the tag of all these routes.
    pub(crate) fn tag(mut self, tag: &'static str) -> Self {
        self.0.iter_mut().for_each(|route| route.tags = vec![tag]);
        self
    }

    pub(crate) fn router(self) -> Router<Server> {
        self.0.iter().fold(Router::new(), |router, Route { path, methods, handler, .. }| {
            methods.iter().fold(router, |router, method| router.route(path, on(method.to_method_filter(), *handler)))
        })
    }

    /// Adds these routes to a description.
    #[cfg(test)]
    pub(crate) fn description(self, mut head: OpenApi) -> OpenApi {
        let mut all = Vec::new();
        for Route { path, methods, operation, tags, schemas, .. } in self.0 {
            let mut operation = operation();
            operation.tags = Some(tags.into_iter().map(Into::into).collect());
            head.paths.add_path_operation(path, methods, operation);
            schemas(&mut all);
        }
        head.components.get_or_insert_default().schemas.extend(all);
        head
    }
}

/// Creates routes from handlers with a `utoipa::path` annotation.
macro_rules! routes {
    ($($handler:ident),+ $(,)?) => {
        $crate::routing::Routes::from([$(utoipa_axum::paste! {
            $crate::routing::Route::new::<[<__path_ $handler>]>(|request, server| {
                axum::handler::Handler::call($handler, request, server)
            })
        }),+])
    };
}
pub(crate) use routes;
