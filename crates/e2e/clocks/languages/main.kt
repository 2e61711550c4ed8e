fun main() {
    var s = 1
    val a = ArrayList<Int>()
    val seen = HashMap<Int, Int>()
    for (i in 0 until 60000) {
        s = s * 1103515245 + 12345
        a.add(s ushr 8)
        seen.merge((s ushr 8) % 1000, 1, Int::plus)
    }
    a.sort()
    println("${a[a.size / 2]} ${seen[7]}")
}
