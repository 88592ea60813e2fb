// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// The name that was probably meant: the one that needs the fewest insertions, deletions,
/// replacements and swaps of neighbouring letters. Nil if too many changes are needed: one change
/// is allowed for each three letters of the shorter name, up to three. A name of one or two letters
/// gets no suggestion, because all other short names would be equally near.
///
/// - Complexity: O(*n* · *m*²) for *n* names of about *m* letters; names of a very different length
///   take nearly no time.
public func nearestName(_ name: String, among names: some Sequence<String>) -> String? {
    let letters = Array(name.unicodeScalars.prefix(nearestNameMax + 1))
    guard letters.count <= nearestNameMax else { return nil }
    var best: (name: String, distance: Int)?
    for candidate in names {
        // A scalar has 1 to 4 bytes in UTF-8, so the number of bytes is enough to exclude most
        // names.
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

/// The maximum length of a name to search suggestions for: a longer text is not a name with a
/// typing error.
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
