// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// The words that a user appends to the command of a job for one run. The job names all words that
/// there may be, in `run-arguments`. They are not secret: they are stored with the run and shown.
public struct RunArguments: Hashable, Sendable, LosslessStringConvertible {
    /// The maximum number of words of one run, and in `run-arguments`.
    public static let countMax = 32
    /// The maximum length of a word, in bytes.
    public static let wordBytesMax = 128
    /// The highest `cost` of words that a job can allow.
    public static let costMax = countMax * (wordBytesMax + 64)

    /// The words, in the order in which the command gets them.
    public let words: [String]

    /// Words that are not checked; see `fault(allowed:)`. By default none.
    public init(_ words: [String] = []) { self.words = words }

    public var isEmpty: Bool { words.isEmpty }

    /// The approximate memory in bytes.
    public var cost: Int { words.reduce(0) { $0 + $1.utf8.count + 64 } }

    // MARK: - Rules

    /// What is wrong with a word, as the end of a sentence; nil if nothing is.
    public static func fault(inWord word: String) -> String? {
        guard !word.isEmpty else { return "a word is empty" }
        guard word.utf8.count <= wordBytesMax else {
            return "a word has \(word.utf8.count) bytes; at most \(wordBytesMax)"
        }
        let isPlain = word.unicodeScalars.allSatisfy {
            switch $0.properties.generalCategory {
            case .control, .lineSeparator, .paragraphSeparator: false
            default: true
            }
        }
        return isPlain ? nil : "\(word.debugDescription) has a control character"
    }

    /// The first word that is there twice; nil if none is.
    public var repeated: String? {
        words.indices.first { index in
            words[..<index].contains { Self.isSame($0, words[index]) }
        }.map { words[$0] }
    }

    /// Why a run must not have these words; nil if it may.
    ///
    /// - Parameter allowed: the words that its job allows.
    public func fault(allowed: [String]) -> String? {
        guard !isEmpty else { return nil }
        guard let other = first(notIn: allowed) else {
            return repeated.map { "has the argument \(Self.quoted($0)) twice" }
        }
        return "run-arguments of the job does not allow \(Self.quoted(other))"
    }

    /// The same for the user who requests the run, with the words that there are.
    public func refusal(allowed: [String]) -> String? {
        guard let fault = fault(allowed: allowed) else { return nil }
        guard let other = first(notIn: allowed) else { return "\(fault); each is given once" }
        guard !allowed.isEmpty else { return "takes no arguments: it has no run-arguments" }
        let near = nearestName(other, among: allowed).map { " (did you mean \(Self.quoted($0))?)" }
        let words = allowed.map(Self.quoted).joined(separator: ", ")
        return "\(fault)\(near ?? ""); it allows \(words)"
    }

    private func first(notIn allowed: [String]) -> String? {
        words.first { word in !allowed.contains { Self.isSame($0, word) } }
    }

    /// Whether a program would get the same. Swift takes texts for equal that are written with other
    /// bytes, such as an accent within its letter or behind it.
    private static func isSame(_ word: String, _ other: String) -> Bool {
        word.utf8.elementsEqual(other.utf8)
    }

    private static func quoted(_ word: String) -> String {
        String(word.prefix(wordBytesMax)).debugDescription
    }

    // MARK: - Text

    /// The words for people, as they are written behind a command: one with a space is in quotes.
    public static func shown(_ words: [String]) -> String {
        words.map { word in
            word.utf8.allSatisfy { isPlain($0) || $0 >= 0x80 } ? word : word.debugDescription
        }.joined(separator: " ")
    }

    /// The words, each with `%` and two digits for a byte that is not a letter, a digit or one of
    /// `-._~=/:+@,`, and a space between them.
    public var description: String {
        words.map { String(percentEncoding: $0, keeping: Self.plain) }.joined(separator: " ")
    }

    /// Parses the text that `description` produces; nil for any other text, and for words that no job
    /// can allow.
    public init?(_ text: String) {
        guard !text.isEmpty else {
            self.init()
            return
        }
        var words: [String] = []
        for part in text.utf8.split(separator: 0x20, omittingEmptySubsequences: false) {
            guard words.count < Self.countMax, let word = Self.decoded(part),
                Self.fault(inWord: word) == nil
            else { return nil }
            words.append(word)
        }
        self.init(words)
        guard description == text else { return nil }
    }

    private static func decoded(_ text: Substring.UTF8View) -> String? {
        var bytes: [UInt8] = []
        var rest = text
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let value = UInt8(Substring(rest.prefix(2)), radix: 16) else { return nil }
            bytes.append(value)
            rest = rest.dropFirst(2)
        }
        return String(validating: bytes, as: UTF8.self)
    }

    /// What needs no quotes in a shell, beside letters and digits.
    private static let plain = "=/:+@,"

    private static func isPlain(_ byte: UInt8) -> Bool {
        byte.isUnreserved || plain.utf8.contains(byte)
    }
}
