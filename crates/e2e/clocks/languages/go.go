package main

import (
	"fmt"
	"sort"
)

func main() {
	s, a, seen := uint32(1), []int{}, map[int]int{}
	for i := 0; i < 60000; i++ {
		s = s*1103515245 + 12345
		a = append(a, int(s>>8))
		seen[int(s>>8)%1000]++
	}
	sort.Ints(a)
	fmt.Println(a[len(a)/2], seen[7])
}
