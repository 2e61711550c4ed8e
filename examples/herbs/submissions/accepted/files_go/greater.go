package main

func greater(a, b int) int {
	if a > b {
		return a
	}
	return b
}
