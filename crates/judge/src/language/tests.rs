use super::*;

#[test]
fn the_shipped_table_is_sound() {
    let table = Table::shipped();
    assert!(table.languages().len() >= 20);
    for language in table.languages() {
        assert_eq!(table.named(&language.id).unwrap().id, language.id);
        assert!(!language.version.is_empty(), "{}", language.id);
    }
}
