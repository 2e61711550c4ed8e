use super::*;

#[test]
fn the_installed_gcc_is_found() {
    let table = Table::shipped();
    let c = table.get("c").unwrap();
    let toolchain = find(&Host::current(), c).unwrap();
    assert!(toolchain.paths["cc"].ends_with("cc"), "{toolchain:?}");
    assert!(matches!(version(c, &toolchain), Reading::Known(_)));
}
