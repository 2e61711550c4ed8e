fun main() {
    val (n, k) = readLine()!!.trim().split(" ").map { it.toInt() }
    if (2 * k > n - 1) {
        println("no")
        return
    }
    println("yes")
    for (i in 0 until n) println((1..k).joinToString(" ") { j -> "${(i + j) % n + 1}" })
}
