//! Whether programs of strangers may be judged here. A container can withhold what the sandbox is made of, so the commands that take work from
//! others refuse to start in one that does, unless they are allowed to.

use crate::reservation::{planned, slots_config};
use crate::terminal::Failure;
use clap::Args;
use clap::builder::FalseyValueParser;
use host::audit;
use host::facts::{Facts, Platform};
use host::machine::Machine;
use model::{Finding, FindingState, MachineKind};

#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct StrangersArgs {
    /// Judge even in a container that withholds what the sandbox needs (docs/containers.md)
    #[arg(long, env = "TAUTO_WEAK_ISOLATION", value_parser = FalseyValueParser::new())]
    weak_isolation: bool,
}

impl StrangersArgs {
    /// Refuses a container in which the sandbox is weaker than it can be, unless that is allowed.
    pub(crate) fn admit(self) -> Result<(), Failure> {
        let machine = Machine::this().map_err(Failure::system)?;
        // All other facts are only needed in a container.
        if Platform::read(&machine).kind() != MachineKind::Container {
            return Ok(());
        }
        let facts = Facts::gather(&machine).map_err(Failure::system)?;
        let audit = audit::assess(&facts, &planned(&machine, &slots_config(None)?)?);
        let finding = audit.findings.iter().find(|finding| finding.id == "container");
        match finding.filter(|finding| finding.state == FindingState::Bad) {
            None => Ok(()),
            Some(finding) if self.weak_isolation => {
                tracing::warn!(
                    found = finding.observed,
                    "programs of strangers are judged in a weaker sandbox"
                );
                Ok(())
            }
            Some(finding) => Err(Failure::usage(refusal(finding))),
        }
    }
}

fn refusal(finding: &Finding) -> String {
    let grant = finding.remedy.as_ref().map_or("see docs/containers.md", |remedy| &remedy.command);
    format!(
        "programs of strangers are not judged in this container ({})\n\
         hint: grant what is missing: {grant}; or accept the risk with --weak-isolation",
        finding.observed
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Remedy, Scope, Severity};

    #[test]
    fn a_refusal_names_what_is_missing_what_grants_it_and_what_does_without() {
        let remedy = Remedy {
            command: "docker run --cap-add SYS_ADMIN".into(),
            scope: Scope::Process,
            root: false,
            reboot: false,
            reversible: true,
        };
        let finding = Finding {
            id: "container".into(),
            state: FindingState::Bad,
            severity: Severity::High,
            observed: "mode D, nothing granted: docker; missing: CAP_SYS_ADMIN".into(),
            source: String::new(),
            why: String::new(),
            who: Vec::new(),
            remedy: Some(remedy),
        };
        let told = refusal(&finding);
        for part in ["missing: CAP_SYS_ADMIN", "--cap-add SYS_ADMIN", "--weak-isolation"] {
            assert!(told.contains(part), "{part}: {told}");
        }
    }
}
