// Sorting slices of integers and of structs.
package main

import (
	"fmt"
	"sort"
)

type item struct {
	key, id int
}

func main() {
	s := uint32(101)
	next := func() int {
		s = s*1664525 + 1013904223
		return int(s >> 4)
	}
	a := make([]int, 2500000)
	for i := range a {
		a[i] = next()
	}
	sort.Ints(a)
	items := make([]item, 900000)
	for i := range items {
		items[i] = item{next() % 100000, i}
	}
	sort.Slice(items, func(x, y int) bool {
		if items[x].key != items[y].key {
			return items[x].key < items[y].key
		}
		return items[x].id > items[y].id
	})
	h := uint64(0)
	for i, x := range a {
		h = h*31 + uint64(x^i)
	}
	for _, it := range items {
		h = h*31 + uint64(it.id)
	}
	fmt.Println(h)
}
