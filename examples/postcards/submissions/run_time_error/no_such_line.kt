fun main() {
    val n = readLine()!!.split(" ")[0].toInt()
    val k = readLine()!!.toInt()
    println(n + k)
}
