let rec depth n = if n = 0 then 0 else depth (n - 1) + 1
let () = Scanf.scanf " %d" (fun n -> Printf.printf "%d é %d\n" (depth n) 9543)
