// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

package import HostFiles
package import TimerCore
package import TimerStore

/// A small file beside the database that identifies the database. If the database is gone, empty or
/// another one, the marker shows that there was one.
///
/// It is written only after its generation is on the disk, so that it never names a newer database
/// than there is.
package struct StateMarker: Hashable {
    static let name = "timerd.marker"
    private static let format = "timerd-state 1"
    private static let bytesMax = 512

    package var identity: Store.Identity
    /// How many jobs the daemon had, for the message if the database is missing.
    var jobs: Int
    /// When it was written, by the wall clock.
    var at: WallInstant

    /// What the file says, if there is one.
    package enum Found: Hashable {
        case none
        case unreadable
        case marker(StateMarker)
    }

    /// Reads the marker in a state directory. Throws if the file is there and cannot be read.
    package static func find(in directory: Directory) throws(Directory.Failure) -> Found {
        guard let bytes = try directory.read(name, bytes: bytesMax) else { return .none }
        let text = String(decoding: bytes, as: UTF8.self)
        return StateMarker(line: String(text.prefix { $0 != "\n" })).map { .marker($0) }
            ?? .unreadable
    }

    /// Replaces the marker. Waits for the disk.
    package func write(in directory: Directory) throws(Directory.Failure) {
        try directory.replace(Self.name, with: Array("\(line)\n".utf8))
    }

    /// `timerd-state 1 ID GENERATION JOBS WALL-US SUM`; the sum covers all before it.
    var line: String {
        let text =
            "\(Self.format) \(identity.id) \(identity.generation) \(jobs) "
            + "\(at.microsecondsSinceEpoch)"
        return "\(text) \(LineSum.of(text))"
    }

    package init(identity: Store.Identity, jobs: Int, at: WallInstant) {
        (self.identity, self.jobs, self.at) = (identity, jobs, at)
    }

    /// Parses what `line` writes; nil for anything else.
    init?(line: String) {
        let words = line.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
        guard words.count == 7, words[0...1].joined(separator: " ") == Self.format,
            words[6] == LineSum.of(words[..<6].joined(separator: " ")),
            let generation = Int64(decimal: words[3]), generation >= 0,
            let jobs = Int64(decimal: words[4]).flatMap({ Int(kept: $0) }),
            let at = Int64(decimal: words[5]).flatMap({ WallInstant(kept: $0) })
        else { return nil }
        self.init(
            identity: Store.Identity(id: words[2], generation: generation), jobs: jobs, at: at)
    }
}
