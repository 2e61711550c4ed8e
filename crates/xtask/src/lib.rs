//! House rules as functions over the repository's files, so that a test can hold the house to them. Each rule
//! returns what breaks it, one line each. Formatting and lints are for `make test`, which calls the tools.
//!
//! The rules read files below the repository's root and nothing else. Beside them: virtual machines to try the binary
//! in ([`vm`]), for `scripts/xtask vm` and the black-box suite, and the runner of all tests ([`tests`]).

mod code;
mod documents;
mod licences;
mod manifests;
mod markdown;
mod rules;
pub mod tests;
mod tree;
pub mod vm;
mod words;

pub use documents::{alerts_lead_somewhere, commands_in_documents_exist, the_book_is_whole};
pub use licences::dependencies_may_be_shipped;
pub use manifests::{
    crate_graph, dependencies_have_reasons, dependencies_of_the_workspace, graph_is_documented,
    lints_of_the_workspace,
};
pub use rules::{
    links_lead_somewhere, measured_fields_are_documented, named_files_exist, no_leftovers,
    no_paths_of_this_machine, one_file_prints, only_the_binary_prints, pure_crates_are_pure,
    schema_names_are_distinct, short_files, unsafe_in_its_place,
};
pub use tree::{File, Tree};
pub use words::{
    documents_are_wrapped, one_line_help_has_no_dot, remedies_are_hints, sentences_are_short,
    texts_use_known_words, wrap,
};
