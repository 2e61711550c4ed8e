// Tree DP with rerooting: sums of distances from every vertex of random trees, and their depths.
package main

import "fmt"

type tree struct {
	next      [][]int32
	size, far []int32
	sum       []int64
}

func (t *tree) down(v, p int32) {
	t.size[v] = 1
	for _, w := range t.next[v] {
		if w == p {
			continue
		}
		t.down(w, v)
		t.size[v] += t.size[w]
		t.sum[v] += t.sum[w] + int64(t.size[w])
		if t.far[w] >= t.far[v] {
			t.far[v] = t.far[w] + 1
		}
	}
}

func (t *tree) reroot(v, p int32) {
	for _, w := range t.next[v] {
		if w != p {
			t.sum[w] = t.sum[v] + int64(len(t.next)) - 2*int64(t.size[w])
			t.reroot(w, v)
		}
	}
}

func main() {
	const n = 200000
	s := uint32(30)
	hash := int64(0)
	for round := 1; round <= 9; round++ {
		t := tree{make([][]int32, n), make([]int32, n), make([]int32, n), make([]int64, n)}
		for i := 1; i < n; i++ {
			s = s*1664525 + 1013904223
			span := 20 * round * round * round
			if span > i {
				span = i
			}
			p := i - 1 - int(s>>8)%span
			t.next[i] = append(t.next[i], int32(p))
			t.next[p] = append(t.next[p], int32(i))
		}
		t.down(0, -1)
		t.reroot(0, -1)
		for _, x := range t.sum {
			hash = (hash*31 + x) % 1000000007
		}
		hash += int64(t.far[0])
	}
	fmt.Println(hash)
}
