//! Routes that are described only when somebody asks: the description of all of them takes many megabytes to make, and most
//! servers run without ever being asked for it.

use axum::Router;
use axum::routing::{MethodFilter, MethodRouter};
use utoipa::openapi::OpenApi;
use utoipa::openapi::path::Operation;
use utoipa_axum::router::OpenApiRouter;

use crate::Server;

/// Routes, and how to describe them.
#[derive(Default)]
pub(crate) struct Routes {
    router: Router<Server>,
    descriptions: Vec<Describe>,
    operations: Vec<(String, Operations)>,
}

/// The handlers of one path.
pub(crate) struct Path {
    pub(crate) path: String,
    pub(crate) methods: MethodRouter<Server>,
    pub(crate) describe: Describe,
    pub(crate) operations: Operations,
}

/// Adds the description of one path.
type Describe = fn(OpenApiRouter<Server>) -> OpenApiRouter<Server>;

/// What the methods of one path are, without the schemas that they refer to, which are most of a description.
type Operations = fn() -> Vec<(MethodFilter, Operation)>;

impl Routes {
    /// None.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// With one path more: what `routes!` makes of its handlers.
    pub(crate) fn routes(mut self, path: Path) -> Self {
        let Path { path, methods, describe, operations } = path;
        self.router = self.router.route(&path, methods);
        self.descriptions.push(describe);
        self.operations.push((path, operations));
        self
    }

    /// With others.
    pub(crate) fn merge(mut self, other: Self) -> Self {
        self.router = self.router.merge(other.router);
        self.descriptions.extend(other.descriptions);
        self.operations.extend(other.operations);
        self
    }

    /// What the methods of each path are.
    pub(crate) fn operations(self) -> impl Iterator<Item = (String, Vec<(MethodFilter, Operation)>)> {
        self.operations.into_iter().map(|(path, operations)| (path, operations()))
    }

    /// What answers.
    pub(crate) fn router(self) -> Router<Server> {
        self.router
    }

    /// What they are, after such a beginning.
    pub(crate) fn description(&self, head: OpenApi) -> OpenApi {
        let all = OpenApiRouter::with_openapi(head);
        self.descriptions.iter().fold(all, |all, describe| describe(all)).into_openapi()
    }
}

/// The handlers of one path, as `utoipa::path` describes them.
macro_rules! routes {
    ($first:ident $(, $handler:ident)* $(,)?) => {{
        use utoipa::Path as _;
        use utoipa_axum::PathItemExt as _;
        let methods = axum::routing::MethodRouter::new();
        utoipa_axum::paste! {
            let path = [<__path_ $first>]::path();
            let methods = [<__path_ $first>]::methods().iter().fold(methods, |all, method| {
                all.on(method.to_method_filter(), $first)
            });
            $(let methods = [<__path_ $handler>]::methods().iter().fold(methods, |all, method| {
                all.on(method.to_method_filter(), $handler)
            });)*
        }
        $crate::routing::Path {
            path,
            methods,
            describe: |all| all.routes(utoipa_axum::routes!($first $(, $handler)*)),
            operations: || {
                let mut all = Vec::new();
                utoipa_axum::paste! {
                    for method in [<__path_ $first>]::methods() {
                        all.push((method.to_method_filter(), [<__path_ $first>]::operation()));
                    }
                    $(for method in [<__path_ $handler>]::methods() {
                        all.push((method.to_method_filter(), [<__path_ $handler>]::operation()));
                    })*
                }
                all
            },
        }
    }};
}
pub(crate) use routes;
