//! The house is held to its own rules.

use xtask::Tree;

#[track_caller]
fn holds(rule: fn(&Tree) -> Vec<String>) {
    let tree = Tree::of_the_repository().expect("the repository can be read");
    assert!(tree.sources().count() > 20, "the sources were not found below {}", tree.root.display());
    let broken = rule(&tree);
    assert!(broken.is_empty(), "\n{}", broken.join("\n"));
}

#[test]
fn crates_depend_in_one_direction() {
    holds(xtask::crate_graph);
}

#[test]
fn pure_crates_are_pure() {
    holds(xtask::pure_crates_are_pure);
}

#[test]
fn unsafe_stands_in_its_place() {
    holds(xtask::unsafe_in_its_place);
}

#[test]
fn one_file_of_the_binary_prints() {
    holds(xtask::one_file_prints);
}

#[test]
fn only_the_binary_prints() {
    holds(xtask::only_the_binary_prints);
}

#[test]
fn files_are_short() {
    holds(xtask::short_files);
}

#[test]
fn nothing_is_left_half_done() {
    holds(xtask::no_leftovers);
}

#[test]
fn no_file_names_a_machine() {
    holds(xtask::no_paths_of_this_machine);
}

#[test]
fn dependencies_have_reasons() {
    holds(xtask::dependencies_have_reasons);
}

#[test]
fn versions_are_chosen_once() {
    holds(xtask::dependencies_of_the_workspace);
}

#[test]
fn every_crate_is_linted() {
    holds(xtask::lints_of_the_workspace);
}

#[test]
fn named_files_exist() {
    holds(xtask::named_files_exist);
}

#[test]
fn the_page_shows_the_crate_graph() {
    holds(xtask::graph_is_documented);
}

#[test]
fn every_measured_field_is_documented() {
    holds(xtask::measured_fields_are_documented);
}

#[test]
fn links_lead_somewhere() {
    holds(xtask::links_lead_somewhere);
}

#[test]
fn commands_in_documents_exist() {
    holds(xtask::commands_in_documents_exist);
}

#[test]
fn alerts_lead_somewhere() {
    holds(xtask::alerts_lead_somewhere);
}

#[test]
fn dependencies_may_be_shipped() {
    let tree = Tree::of_the_repository().expect("the repository can be read");
    let refused = xtask::dependencies_may_be_shipped(&tree.root).expect("cargo names the dependencies");
    assert!(refused.is_empty(), "\n{}", refused.join("\n"));
}

#[test]
fn remedies_are_hints() {
    holds(xtask::remedies_are_hints);
}

#[test]
fn texts_use_known_words() {
    holds(xtask::texts_use_known_words);
}

#[test]
fn sentences_are_short() {
    holds(xtask::sentences_are_short);
}

#[test]
fn one_line_help_has_no_dot() {
    holds(xtask::one_line_help_has_no_dot);
}

#[test]
fn documents_are_wrapped() {
    holds(xtask::documents_are_wrapped);
}

#[test]
fn the_book_is_whole() {
    holds(xtask::the_book_is_whole);
}

#[test]
fn schema_names_are_distinct() {
    holds(xtask::schema_names_are_distinct);
}
