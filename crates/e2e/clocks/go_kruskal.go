// Minimum spanning forests by Kruskal's algorithm: sort.Slice on edges and union-find.
package main

import (
	"fmt"
	"sort"
)

type edge struct {
	a, b int32
	w    int64
}

type forest []int32

func (f forest) find(x int32) int32 {
	for f[x] != x {
		f[x] = f[f[x]]
		x = f[x]
	}
	return x
}

func main() {
	const n, m = 70000, 260000
	s := uint64(12)
	rnd := func(k uint64) int64 {
		s = s*6364136223846793005 + 1442695040888963407
		return int64((s >> 33) % k)
	}
	var hash uint64
	for round := 0; round < 5; round++ {
		edges := make([]edge, m)
		for i := range edges {
			edges[i] = edge{int32(rnd(n)), int32(rnd(n)), rnd(1000000)}
		}
		sort.Slice(edges, func(i, j int) bool {
			if edges[i].w != edges[j].w {
				return edges[i].w < edges[j].w
			}
			return edges[i].a < edges[j].a
		})
		f := make(forest, n)
		for i := range f {
			f[i] = int32(i)
		}
		var total, used int64
		for _, e := range edges {
			if a, b := f.find(e.a), f.find(e.b); a != b {
				f[a] = b
				total += e.w
				used++
			}
		}
		hash = hash*1000003 + uint64(total+used*31)
	}
	fmt.Println(hash)
}
