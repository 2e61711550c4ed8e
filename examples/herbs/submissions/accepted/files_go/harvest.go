package main

func harvest(leaves []int, k int) int {
	best := make([]int, len(leaves)+1)
	for i, bed := range leaves {
		best[i+1] = greater(best[i], bed+best[greater(i-k, 0)])
	}
	return best[len(leaves)]
}
