use crate::kit::Kit;
#[tokio::test]
async fn dump() {
    let kit = Kit::new(true).await;
    std::fs::write("/tmp/wt/s-acc/target/routes.txt", kit.routes().join("\n")).unwrap();
}
