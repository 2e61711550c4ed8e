package main

import (
	"bufio"
	"fmt"
	"os"
	"sort"
)

func main() {
	in := bufio.NewReader(os.Stdin)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	var days int
	fmt.Fscan(in, &days)
	for ; days > 0; days-- {
		var n int64
		fmt.Fscan(in, &n)
		tooMany := sort.Search(2000000000, func(r int) bool { return int64(r)*(int64(r)+1)/2 > n })
		rows := int64(tooMany) - 1
		fmt.Fprintln(out, rows, n-rows*(rows+1)/2)
	}
}
