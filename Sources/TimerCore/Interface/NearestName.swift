// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// The name that was probably meant: the one nearest to `name` by insertions, deletions, replacements and
/// swaps of neighbours, if it is near enough that few other words would be as near. That is one such change
/// in three letters of the shorter of the two, and three at most; of words below three letters any other is
/// as near as the next.
///
/// - Complexity: O(*n* · *m*²) for *n* names of some *m* letters; those of another length take no time.
public func nearestName(_ name: String, among names: some Sequence<String>) -> String? {
    let letters = Array(name.unicodeScalars.prefix(nearestNameMax + 1))
    guard letters.count <= nearestNameMax else { return nil }
    var best: (name: String, distance: Int)?
    for candidate in names {
        // A scalar has 1 to 4 bytes, so that most names are told apart by their bytes alone.
        let bytes = candidate.utf8.count
        guard bytes + 3 >= letters.count, bytes <= 4 * (letters.count + 3) else { continue }
        let other = Array(candidate.unicodeScalars)
        let limit = min(3, min(letters.count, other.count) / 3, (best?.distance ?? 4) - 1)
        guard limit > 0, abs(other.count - letters.count) <= limit else { continue }
        let distance = editDistance(letters, other)
        if distance <= limit { best = (candidate, distance) }
    }
    return best?.name
}

/// The most letters of a name that others are sought for: nobody means a longer one.
private let nearestNameMax = 128

/// The optimal string alignment distance (Damerau 1964, Levenshtein 1965).
private func editDistance(_ left: [Unicode.Scalar], _ right: [Unicode.Scalar]) -> Int {
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
