// Fifteen puzzle: iterative deepening A* with the Manhattan distance on scrambled boards.
val MOVES = Array(16) { at ->
    (0..15).filter { Math.abs(it % 4 - at % 4) + Math.abs(it / 4 - at / 4) == 1 }.toIntArray()
}

class Puzzle(private val board: IntArray) {
    private var empty = board.indexOf(0)
    var nodes = 0L

    private fun cost(tile: Int, at: Int) = Math.abs((tile - 1) / 4 - at / 4) + Math.abs((tile - 1) % 4 - at % 4)

    private fun estimate() = board.indices.filter { board[it] != 0 }.map { cost(board[it], it) }.sum()

    private fun search(h: Int, left: Int, previous: Int): Int {
        nodes++
        if (h == 0 || h > left) return if (h == 0) -1 else h - left
        var least = Int.MAX_VALUE
        val from = empty
        for (to in MOVES[from]) {
            if (to == previous) continue
            val tile = board[to]
            board[from] = tile
            board[to] = 0
            empty = to
            val result = search(h - cost(tile, to) + cost(tile, from), left - 1, from)
            board[to] = tile
            board[from] = 0
            empty = from
            if (result < 0) return -1 else least = minOf(least, result)
        }
        return least
    }

    fun solve(): Int {
        var limit = estimate()
        while (true) {
            val more = search(estimate(), limit, -1)
            if (more < 0) return limit else limit += more
        }
    }

}

fun main() {
    var (s, hash) = listOf(20L, 0L)
    for (round in 1..10) {
        val board = IntArray(16) { (it + 1) % 16 }
        var (at, last) = listOf(15, -1)
        repeat(48) {
            s = (s * 25214903917L + 11) and ((1L shl 48) - 1)
            val options = MOVES[at].filter { it != last }
            val to = options[((s ushr 20) % options.size).toInt()]
            board[at] = board[to]
            board[to] = 0
            last = at.also { at = to }
        }
        hash = Puzzle(board).run { hash * 101 + solve() + nodes }
    }
    println(hash)
}
