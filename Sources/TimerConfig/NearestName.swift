// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// The name that was probably meant: the one nearest to `name` by insertions, deletions, replacements and
/// swaps of neighbours, if it is near enough that few other words would be as near.
///
/// - Complexity: O(*n* · *m*²) for *n* names of some *m* characters.
public func nearestName(_ name: String, among names: some Sequence<String>) -> String? {
    let limit = max(1, name.count / 3)
    var best: (name: String, distance: Int)?
    for candidate in names {
        guard abs(candidate.count - name.count) <= limit else { continue }
        let distance = editDistance(Array(name), Array(candidate))
        if distance <= limit, distance < best?.distance ?? .max { best = (candidate, distance) }
    }
    return best?.name
}

/// The optimal string alignment distance (Damerau 1964, Levenshtein 1965).
private func editDistance(_ left: [Character], _ right: [Character]) -> Int {
    var beforeLast = [Int](repeating: 0, count: right.count + 1)
    var last = Array(0...right.count)
    for row in 0..<left.count {
        var current = [row + 1]
        for column in 0..<right.count {
            var cost = min(last[column + 1] + 1, current[column] + 1)
            cost = min(cost, last[column] + (left[row] == right[column] ? 0 : 1))
            if row > 0, column > 0, left[row] == right[column - 1], left[row - 1] == right[column] {
                cost = min(cost, beforeLast[column - 1] + 1)
            }
            current.append(cost)
        }
        (beforeLast, last) = (last, current)
    }
    return last[right.count]
}
