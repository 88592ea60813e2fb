// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

public import TimerCore
import TimerJSON
import TimerZones

/// Where the value of a key of a job comes from.
public struct KeyOrigin: Hashable, Sendable {
    public enum Source: Hashable, Sendable {
        /// The table of the job.
        case job
        /// `[defaults]` of its file, or of the main file.
        case defaults
    }

    /// Where a value is written.
    public struct Place: Hashable, Sendable {
        public var source: Source
        public var file: String
        /// From 1.
        public var line: Int
    }

    /// The key, with the name of one of its values if it has a table of them: `environment.LANG`.
    public var key: String
    /// Where the value is written; nil: nowhere, and the job has the built-in one.
    public var place: Place?
    /// The built-in value as TOML; nil if the absence of the key cannot be written as a value.
    public var standard: String?
}

extension ConfigReader {
    /// Where the values of a job come from, key by key. Keys are left out that the job does not have
    /// and that `[defaults]` cannot have.
    ///
    /// - Returns: nil if no readable file has the job.
    /// - Throws: `ConfigError` if the main file cannot be read or is no TOML.
    /// - Complexity: O(*n*) in the bytes of all files.
    public static func origins(
        of job: Job.Name, path: String, ownerUID: UInt32
    ) throws(ConfigError) -> [KeyOrigin]? {
        var decoder = Decoder(zones: ZoneFiles(substitute: .utc), seed: 0, checks: nil)
        decoder.tracedJob = job
        try read(
            ConfigFiles(main: path, ownerUID: ownerUID), replacing: nil, known: [:], into: &decoder)
        return decoder.origins
    }
}

/// The tables that a job gets its values from, and where they are.
struct KeyLayers {
    /// The keys of the job's own table.
    var own: [TomlEntry]
    /// Those of `[defaults]` of its file.
    var file: [TomlEntry]
    /// Those of `[defaults]` of the main file, if that is another file.
    var main: [TomlEntry]

    func origins(_ reader: FileReader) -> [KeyOrigin] {
        let isShared = own.contains { $0.key == "fleet" }
        let others = Draft.fleets.map(\.name)
        return JobKey.all.flatMap { key -> [KeyOrigin] in
            let layers: [(KeyOrigin.Source, [TomlEntry])] = [
                (.job, own), (.defaults, file), (.defaults, main),
            ]
            var found: [KeyOrigin] = []
            var isDone = false
            for (source, entries) in layers where !isDone {
                guard let entry = entries.first(where: { $0.key == key.name }) else { continue }
                // Without a fleet, and in one for some keys, a default does not apply.
                if source == .defaults, isShared ? key.isForeignToFleet : others.contains(key.name)
                {
                    continue
                }
                for (name, mark) in key.values(of: entry)
                where !found.contains(where: { $0.key == name }) {
                    let place = KeyOrigin.Place(
                        source: source, file: reader.file(of: mark), line: mark.line)
                    found.append(KeyOrigin(key: name, place: place))
                }
                isDone = !key.isMerged || entry.removesDefault
            }
            guard found.isEmpty else { return found }
            guard key.isDefault, isShared || !others.contains(key.name) else { return [] }
            return [KeyOrigin(key: key.name, standard: key.standard()?.text())]
        }
    }
}

extension Key where Target == Draft {
    fileprivate var isForeignToFleet: Bool { Draft.foreignNames.contains(name) }

    /// The values of an entry: one, or those of its table if others are added to them.
    fileprivate func values(of entry: TomlEntry) -> [(String, SourceMark)] {
        guard isMerged, case .table(let values) = entry.node.value, !values.isEmpty else {
            return [(name, entry.mark)]
        }
        return values.map { ("\(name).\($0.shown)", $0.mark) }
    }
}
