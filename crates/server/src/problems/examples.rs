//! The example problems, for a service that starts for the first time.

use super::add::take;
use crate::archive::archive;
use crate::errors::Refusal;
use crate::service::Service;

/// Path and content of a file, and whether it may be executed.
type ExampleFile = (&'static str, &'static [u8], bool);

/// Name and files of each.
const EXAMPLES: &[(&str, &[ExampleFile])] = include!(concat!(env!("OUT_DIR"), "/examples.rs"));

/// Says that the examples were installed, so that they are not put back when somebody wants them gone.
const INSTALLED: &str = "examples/installed";

/// Installs the example problems, once in the life of a database.
pub(crate) async fn install_examples(service: &Service) -> Result<(), Refusal> {
    if service.store.setting(INSTALLED).await?.is_some() {
        return Ok(());
    }
    for (name, files) in EXAMPLES {
        let package =
            archive(files.iter().map(|(path, bytes, executable)| (path.to_string(), bytes, *executable)))?;
        // On a fresh service nobody is to wait for the limits of examples that nobody uses.
        take(service, None, name, package).await?;
    }
    let names: Vec<&str> = EXAMPLES.iter().map(|(name, _)| *name).collect();
    service.store.set_setting(INSTALLED, &serde_json::json!(names)).await?;
    Ok(())
}
