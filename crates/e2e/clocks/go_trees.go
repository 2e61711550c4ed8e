// Allocating and walking many binary trees (one processor).
package main

import (
	"fmt"
	"runtime"
)

type node struct {
	left, right *node
	value       int
}

func build(depth, v int) *node {
	if depth == 0 {
		return &node{value: v}
	}
	return &node{build(depth-1, 2*v), build(depth-1, 2*v+1), v}
}

func (n *node) sum() int {
	if n == nil {
		return 0
	}
	return n.value ^ n.left.sum()*3 + n.right.sum()
}

func main() {
	runtime.GOMAXPROCS(1)
	keep := build(17, 1)
	total := 0
	for i := 0; i < 360; i++ {
		total = total*3 + build(14, i).sum()
	}
	fmt.Println(total, keep.sum())
}
