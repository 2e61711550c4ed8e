(* Regular expressions matched by derivatives, with simplifying constructors, over all short words. *)
type re =
  | Empty
  | Eps
  | Chr of char
  | Alt of re * re | Seq of re * re | And of re * re
  | Not of re | Star of re

let rec nullable = function
  | Empty | Chr _ -> false
  | Eps | Star _ -> true
  | Alt (a, b) -> nullable a || nullable b
  | Seq (a, b) | And (a, b) -> nullable a && nullable b
  | Not a -> not (nullable a)

let alt a b =
  match a, b with
  | Empty, r | r, Empty -> r
  | _ -> let c = compare a b in if c = 0 then a else if c < 0 then Alt (a, b) else Alt (b, a)

let seq a b =
  match a, b with
  | Empty, _ | _, Empty -> Empty
  | Eps, r | r, Eps -> r
  | _ -> Seq (a, b)

let conj a b =
  match a, b with
  | Empty, _ | _, Empty -> Empty
  | _ -> if a = b then a else And (a, b)

let rec derive c = function
  | Empty | Eps -> Empty
  | Chr d -> if c = d then Eps else Empty
  | Alt (a, b) -> alt (derive c a) (derive c b)
  | Seq (a, b) ->
    let left = seq (derive c a) b in
    if nullable a then alt left (derive c b) else left
  | And (a, b) -> conj (derive c a) (derive c b)
  | Not a -> Not (derive c a)
  | Star a as r -> seq (derive c a) r

let rec count depth r =
  if r = Empty then 0
  else if depth = 0 then if nullable r then 1 else 0
  else
    count (depth - 1) (derive 'a' r) + (3 * count (depth - 1) (derive 'b' r))
    + (7 * count (depth - 1) (derive 'c' r))

let () =
  let word s = String.fold_right (fun c r -> seq (Chr c) r) s Eps in
  let a = Chr 'a' and b = Chr 'b' and c = Chr 'c' in
  let any = Alt (a, Alt (b, c)) in
  let contains w = Seq (Star any, Seq (word w, Star any)) in
  let even = Star (Alt (Seq (a, Seq (Star (Alt (b, c)), a)), Alt (b, c))) in
  let tests =
    [ And (even, Not (contains "bcb"));
      Seq (Star (Alt (word "ab", word "ac")), Alt (Star b, word "cab"));
      And (contains "aab", And (contains "cc", Not (contains "bb"))) ]
  in
  List.iter (fun r -> Printf.printf "%d " (count 12 r land 0xFFFFFFFF)) tests;
  print_newline ()
