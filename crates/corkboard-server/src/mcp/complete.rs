//! Completes names in resource templates and prompts.

use corkboard::{Corkboard, SpaceKind};
use rmcp::ErrorData;
use rmcp::model::{CompleteRequestParams, CompleteResult, CompletionInfo};

use super::resources::{broken, refused};
use super::workspace::Workspace;

/// Spaces that a completion looks at, per page of the list.
const PAGE: usize = 1_000;

pub(super) async fn complete(
    workspace: &Workspace,
    request: CompleteRequestParams,
) -> Result<CompleteResult, ErrorData> {
    let CompleteRequestParams { argument, context, .. } = request;
    let chosen = |name: &str| context.as_ref()?.get_argument(name).map(String::as_str);
    let corkboard = &workspace.corkboard;
    let agent = chosen("agent").unwrap_or(&workspace.context.agent);
    let names = match argument.name.as_str() {
        "agent" => spaces(corkboard, SpaceKind::Agent, &argument.value).await?,
        "board" => spaces(corkboard, SpaceKind::Board, &argument.value).await?,
        "core" => spaces(corkboard, SpaceKind::Core, &argument.value).await?,
        "conversation" => {
            let conversations = corkboard.agent(agent).map_err(refused)?.conversations().await.map_err(broken)?;
            conversations.into_iter().map(|conversation| conversation.id.to_string()).collect()
        }
        "notebook" => {
            let notebooks = corkboard.agent(agent).map_err(refused)?.notebooks().await.map_err(broken)?;
            notebooks.into_iter().map(|notebook| notebook.name.to_string()).collect()
        }
        "task" => match chosen("board").or(workspace.context.board.as_deref()) {
            Some(board) => {
                let view = corkboard.board(board).map_err(refused)?.view().await.map_err(broken)?;
                view.state().tasks().map(|task| task.id.to_string()).collect()
            }
            None => Vec::new(),
        },
        _ => Vec::new(),
    };
    let mut fitting: Vec<String> = names.into_iter().filter(|name| name.starts_with(&argument.value)).collect();
    let total = u32::try_from(fitting.len()).unwrap_or(u32::MAX);
    let has_more = fitting.len() > CompletionInfo::MAX_VALUES;
    fitting.truncate(CompletionInfo::MAX_VALUES);
    let completion = CompletionInfo::with_pagination(fitting, Some(total), has_more);
    Ok(CompleteResult::new(completion.map_err(|message| ErrorData::internal_error(message, None))?))
}

/// The names of spaces that begin so and that the client has access to.
async fn spaces(corkboard: &Corkboard, kind: SpaceKind, beginning: &str) -> Result<Vec<String>, ErrorData> {
    let (mut found, mut after) = (Vec::new(), None::<String>);
    loop {
        let page = corkboard.logs(kind, after.as_deref(), PAGE).await.map_err(broken)?;
        let names = page.iter().map(|listed| listed.space.name());
        found
            .extend(names.filter(|name| name.starts_with(beginning) && corkboard.opens(kind, name)).map(str::to_owned));
        after = page.last().map(|last| last.space.name().to_owned());
        if page.len() < PAGE || found.len() > CompletionInfo::MAX_VALUES {
            return Ok(found);
        }
    }
}
