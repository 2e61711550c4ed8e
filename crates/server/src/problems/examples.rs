//! The example problems, for a service that starts for the first time.

use super::add::take;
use crate::errors::Refusal;
use crate::service::Service;

/// Name and package of each.
const EXAMPLES: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/examples.rs"));

/// Says that the examples were installed, so that they are not put back when somebody wants them gone.
const INSTALLED: &str = "examples/installed";

/// Installs the example problems, once in the life of a database.
pub(crate) async fn install_examples(service: &Service) -> Result<(), Refusal> {
    if service.store.setting(INSTALLED).await?.is_some() {
        return Ok(());
    }
    for (name, package) in EXAMPLES {
        // On a fresh service nobody is to wait for the limits of examples that nobody uses.
        take(service, None, name, package.to_vec()).await?;
    }
    let names: Vec<&str> = EXAMPLES.iter().map(|(name, _)| *name).collect();
    service.store.set_setting(INSTALLED, &serde_json::json!(names)).await?;
    Ok(())
}
