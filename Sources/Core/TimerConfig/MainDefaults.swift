// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// The table `[defaults]` of the main file, as the jobs of the other files have it.
struct MainDefaults: Sendable {
    /// The path of the main file.
    let file: String
    /// Its values. Their places are marked as those of another file than the one that is read.
    let draft: Draft
    /// Its keys, with the same places.
    let entries: [TomlEntry]
    /// The lines of its values, each with a caret, by their places.
    let excerpts: [SourceMark: String]
    /// What is wrong with it.
    let errors: [ConfigError]
    /// A hash of its values, wherever they are in the file, which is valid only in this process.
    let hash: Int

    /// - Parameters:
    ///   - entries: the keys of the table.
    ///   - refused: the keys whose values are wrong.
    ///   - errors: what is wrong.
    init(
        _ entries: [TomlEntry], of document: Document, refused: Set<String>, errors: [ConfigError]
    ) {
        file = document.file
        self.errors = errors
        let inherited = entries.map(\.inherited)
        self.entries = inherited
        // What is wrong with them was reported when the main file was read.
        var reader = FileReader(document: document)
        var draft = Draft()
        for entry in inherited { reader.readDefault(entry, into: &draft) }
        draft.refused = refused
        self.draft = draft
        var text = document.text
        excerpts = inherited.reduce(into: [:]) { lines, entry in
            lines[entry.node.mark] = text.excerpt(at: entry.node.mark)
        }
        var hasher = Hasher()
        for entry in entries { entry.combine(into: &hasher) }
        hash = hasher.finalize()
    }
}

extension TomlEntry {
    /// The same with its places as those of the main file.
    fileprivate var inherited: TomlEntry {
        TomlEntry(key: key, mark: mark.inherited, node: node.inherited)
    }

    /// Adds the key and the value, without their places.
    fileprivate func combine(into hasher: inout Hasher) {
        hasher.combine(key)
        node.combine(into: &hasher)
    }
}

extension TomlNode {
    fileprivate var inherited: TomlNode {
        let value: TomlValue =
            switch value {
            case .table(let entries): .table(entries.map(\.inherited))
            case .array(let nodes): .array(nodes.map(\.inherited))
            case .string, .integer, .boolean, .float, .dateOrTime: value
            }
        return TomlNode(mark: mark.inherited, value: value)
    }

    fileprivate func combine(into hasher: inout Hasher) {
        hasher.combine(value.kind)
        switch value {
        case .table(let entries):
            hasher.combine(entries.count)
            for entry in entries { entry.combine(into: &hasher) }
        case .array(let nodes):
            hasher.combine(nodes.count)
            for node in nodes { node.combine(into: &hasher) }
        case .string(let text): hasher.combine(text)
        case .integer(let number): hasher.combine(number)
        case .boolean(let isTrue): hasher.combine(isTrue)
        case .float(let number): hasher.combine(number)
        case .dateOrTime: break
        }
    }
}

extension SourceMark {
    fileprivate var inherited: SourceMark {
        var mark = self
        mark.isInherited = true
        return mark
    }
}
