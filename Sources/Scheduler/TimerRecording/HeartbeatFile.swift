// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc
package import HostFiles
package import TimerCore

/// The file from which a later instance learns when this one last ran. It is in the runtime
/// directory and written without fsync, because it has to survive a crash of the daemon, not of the
/// machine.
///
/// It has two places, which are written in turn: a kill in the middle of one leaves the other
/// intact.
package struct HeartbeatFile {
    package static let name = "heartbeat"
    /// The bytes of one place, which are enough for the longest line.
    private static let placeBytes = 512

    /// Whether it is in memory, so that no write waits for a disk. This is true for /run and a
    /// user's runtime directory (file-hierarchy(7)).
    package let isInMemory: Bool
    private let file: Int32
    private var turn = 0

    /// Opens or creates the file. It stays open until `close`.
    package init(in directory: Directory) throws(Directory.Failure) {
        file = try directory.open(Self.name, flags: O_RDWR | O_CREAT)
        isInMemory = clinux_is_in_memory(file) != 0
    }

    /// The last heartbeat, of any instance; nil if there is no complete one.
    package func read() -> Heartbeat? {
        var last: Heartbeat?
        for place in 0..<2 {
            var bytes = [UInt8](repeating: 0, count: Self.placeBytes)
            let count = pread(file, &bytes, bytes.count, off_t(place * Self.placeBytes))
            guard count > 0, let line = bytes[..<count].split(separator: UInt8(ascii: "\n")).first,
                let found = Heartbeat(line: String(decoding: line, as: UTF8.self))
            else { continue }
            if let known = last, (known.instance, known.at.awake) > (found.instance, found.at.awake)
            {
                continue
            }
            last = found
        }
        return last
    }

    /// Deletes all heartbeats, which belong to a daemon with another state.
    package func clear() { ftruncate(file, 0) }

    /// Closes the file, which is not used any more.
    package func close() { Glibc.close(file) }

    /// Writes a heartbeat.
    /// - Returns: the errno if it could not be written.
    package mutating func write(_ heartbeat: Heartbeat) -> Int32? {
        let line = Array((heartbeat.line + "\n").utf8)
        let count = pwrite(file, line, line.count, off_t(turn * Self.placeBytes))
        turn = 1 - turn
        return count == line.count ? nil : (count < 0 ? errno : EIO)
    }
}

extension Heartbeat {
    private static let format = "timerd-heartbeat 3"

    /// `timerd-heartbeat 3 GENERATION INSTANCE BOOT WALL-US AWAKE-NS BOOT-NS UNSTORED SUM`; the sum
    /// covers all before it. UNSTORED is `-`, or `STORED-INSTANCE INSTANCES COUNTED-NS` followed by
    /// `-` or by the proven reading, which is written as the reading after INSTANCE.
    var line: String {
        var text = "\(Self.format) \(generation) \(instance) \(at.line) "
        if let unstored {
            text +=
                "\(unstored.storedInstance) \(unstored.instances) \(unstored.counted.wholeNanoseconds) "
                + (unstored.proven?.line ?? "-")
        } else {
            text += "-"
        }
        return "\(text) \(LineSum.of(text))"
    }

    /// Parses what `line` writes; nil for anything else.
    init?(line: String) {
        let words = line.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
        guard words.count >= 9, words[0...1].joined(separator: " ") == Self.format,
            words.last == LineSum.of(words.dropLast().joined(separator: " ")),
            let generation = Int64(decimal: words[2]), generation >= 0,
            let instance = DaemonInstance.ID(decimal: words[3]),
            Accepted.instance.contains(instance),
            let at = Now(words: words[4..<8])
        else { return nil }
        let rest = Array(words[8..<(words.count - 1)])
        guard rest != ["-"] else {
            self.init(instance: instance, at: at)
            self.generation = generation
            return
        }
        guard rest.count >= 4, let storedInstance = DaemonInstance.ID(decimal: rest[0]),
            let instances = Int(decimal: rest[1]),
            let counted = Int64(decimal: rest[2]), instances >= 1, counted >= 0
        else { return nil }
        let proven = rest[3...] == ["-"] ? nil : Now(words: rest[3...])
        guard proven != nil || rest[3...] == ["-"] else { return nil }
        self.init(
            instance: instance, at: at,
            unstored: Unstored(
                storedInstance: storedInstance, proven: proven, counted: .nanoseconds(counted),
                instances: instances))
        self.generation = generation
    }
}

/// The checksum at the end of a line in a file. It detects lines that were written in part, not
/// forged ones.
enum LineSum {
    static func of(_ text: String) -> String { String(FNV1a.hash(text.utf8), radix: 16) }
}

extension Now {
    /// The words `BOOT WALL-US AWAKE-NS BOOT-NS`, which are a part of the file's format.
    fileprivate var line: String {
        "\(bootID) \(wall.microsecondsSinceEpoch) \(awake.nanoseconds) \(boot.nanoseconds)"
    }

    /// Parses what `line` writes; nil for anything else.
    fileprivate init?(words: ArraySlice<String>) {
        let words = Array(words)
        guard words.count == 4, let bootID = BootID(words[0]), let wall = Int64(decimal: words[1]),
            let awake = Int64(decimal: words[2]), let boot = Int64(decimal: words[3])
        else { return nil }
        self.init(keptWall: wall, awake: awake, boot: boot, bootID: bootID)
    }
}
