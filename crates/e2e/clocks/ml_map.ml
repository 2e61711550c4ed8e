(* Ordered map from the standard library and a hand-written binary search tree. *)
module M = Map.Make (Int)

type tree = Leaf | Node of tree * int * int * tree

let rec add k = function
  | Leaf -> Node (Leaf, k, 1, Leaf)
  | Node (l, x, c, r) ->
    if k < x then Node (add k l, x, c, r)
    else if k > x then Node (l, x, c, add k r)
    else Node (l, x, c + 1, r)

let rec fold t acc =
  match t with
  | Leaf -> acc
  | Node (l, x, c, r) -> fold r (((fold l acc * 31) + x + c) land 0xFFFFFFFFFF)

let state = ref 42

let next k =
  state := ((!state * 25214903917) + 11) land 0xFFFFFFFFFFFF;
  (!state lsr 17) mod k

let () =
  let t = ref Leaf and m = ref M.empty in
  for _ = 1 to 400000 do
    t := add (next 150000) !t
  done;
  for i = 1 to 300000 do
    m := M.update (next 120000) (function None -> Some i | Some v -> Some (v lxor i)) !m
  done;
  let h = M.fold (fun k v acc -> ((acc * 17) + k + v) land 0xFFFFFFFFFF) !m 0 in
  Printf.printf "%d %d %d\n" (fold !t 0) (M.cardinal !m) h
