let p = 1_000_000_007

let times (a, b, c, d) (e, f, g, h) =
  (((a * e) + (b * g)) mod p, ((a * f) + (b * h)) mod p, ((c * e) + (d * g)) mod p, ((c * f) + (d * h)) mod p)

let rec power m n =
  if n = 0 then (1, 0, 0, 1)
  else
    let half = power (times m m) (n / 2) in
    if n mod 2 = 1 then times half m else half

let () =
  Scanf.scanf " %d" (fun n ->
      let a, b, _, _ = power (2, 1, 2, 0) n in
      Printf.printf "%d\n" ((a + b) mod p))
