//! Pages of a group by memory node: `memory.numa_stat` of version 2 (Documentation/admin-guide/cgroup-v2.rst). Reading it takes
//! no lock of the programs, unlike their numa_maps, which would hold up whoever maps memory meanwhile.

use model::NodePages;

/// Bytes of a page on x86_64.
const PAGE: u64 = 4096;

/// Pages of anonymous memory on each node that has some; `None` where the file does not tell.
pub(super) fn pages(numa_stat: &str) -> Option<Vec<NodePages>> {
    let line = numa_stat.lines().find_map(|line| line.strip_prefix("anon "))?;
    let on = |word: &str| {
        let (node, bytes) = word.strip_prefix('N')?.split_once('=')?;
        Some(NodePages { node: node.parse().ok()?, pages: bytes.parse::<u64>().ok()? / PAGE })
    };
    let all: Option<Vec<NodePages>> = line.split_whitespace().map(on).collect();
    Some(all?.into_iter().filter(|on| on.pages > 0).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn anonymous_pages_of_each_node() {
        let text = "anon N0=8192 N1=67108864\nfile N0=4096 N1=0\nkernel_stack N0=16384 N1=0\n";
        let on = |node, pages| NodePages { node, pages };
        assert_eq!(pages(text), Some(vec![on(0, 2), on(1, 16384)]));
        assert_eq!(pages("anon N0=0 N1=0\n"), Some(vec![]));
        assert_eq!(pages("file N0=4096\n"), None);
        assert_eq!(pages("anon N0=x\n"), None);
    }
}
