package main

func harvest(leaves []int, k int) int {
	panic("no harvest today")
}
