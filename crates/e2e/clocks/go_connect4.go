// Connect four on bit boards: fixed-depth alpha-beta from several openings.
package main

import (
	"fmt"
	"math/bits"
)

const height = 6

type board struct {
	mine, all uint64 // mine: stones of the side to move
	moves     int
}

var order = [7]uint{3, 2, 4, 1, 5, 0, 6}
var nodes int

func won(b uint64) bool {
	for _, d := range [4]uint{1, height, height + 1, height + 2} {
		if m := b & (b >> d); m&(m>>(2*d)) != 0 {
			return true
		}
	}
	return false
}

func (p board) play(c uint) board {
	return board{p.mine ^ p.all, p.all | (p.all + 1<<(c*(height+1))), p.moves + 1}
}

func search(p board, depth, alpha, beta int) int {
	nodes++
	if won(p.mine ^ p.all) {
		return -1000 + p.moves
	}
	if depth == 0 {
		const middle = uint64(0x3F) << (3 * (height + 1))
		return 2*bits.OnesCount64(p.mine&middle) - bits.OnesCount64(p.all&middle)
	}
	for _, c := range order {
		if p.all>>(c*(height+1)+height-1)&1 != 0 {
			continue
		}
		if v := -search(p.play(c), depth-1, -beta, -alpha); v > alpha {
			alpha = v
			if alpha >= beta {
				break
			}
		}
	}
	return alpha
}

func main() {
	hash := 0
	for _, opening := range []string{"", "33", "3332", "012", "6543"} {
		p := board{}
		for _, c := range opening {
			p = p.play(uint(c - '0'))
		}
		hash = hash*2003 + search(p, 12, -5000, 5000)
	}
	fmt.Println(hash, nodes)
}
