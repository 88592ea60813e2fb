// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc
import HostFiles
import TimerCore

/// The file that shows a later daemon when this one was alive last. It lies in the runtime directory, and
/// writing it costs no fsync: what it must outlive is the daemon, not the machine.
///
/// Two places are written in turn, so that a kill in the middle of one leaves the other whole.
struct HeartbeatFile {
    static let name = "heartbeat"
    private static let placeBytes = 256

    /// Whether it lies in memory, so that no write waits for a disk. /run does, and a user's own runtime
    /// directory (file-hierarchy(7)).
    let isInMemory: Bool
    private let file: Int32
    private var turn = 0

    /// Opens the file or makes it. It stays open as long as the daemon lives.
    init(in directory: Directory) throws(Directory.Failure) {
        file = try directory.open(Self.name, flags: O_RDWR | O_CREAT)
        isInMemory = clinux_is_in_memory(file) != 0
    }

    /// The last sign of life, of whatever daemon; nil without a whole one.
    func read() -> Heartbeat? {
        var last: Heartbeat?
        for place in 0..<2 {
            var bytes = [UInt8](repeating: 0, count: Self.placeBytes)
            let count = pread(file, &bytes, bytes.count, off_t(place * Self.placeBytes))
            guard count > 0, let line = bytes[..<count].split(separator: UInt8(ascii: "\n")).first,
                let found = Heartbeat(line: String(decoding: line, as: UTF8.self))
            else { continue }
            if let known = last, (known.life, known.at.awake) > (found.life, found.at.awake) {
                continue
            }
            last = found
        }
        return last
    }

    /// Leaves a sign of life.
    /// - Returns: the errno if it could not be written.
    mutating func write(_ heartbeat: Heartbeat) -> Int32? {
        let line = Array((heartbeat.line + "\n").utf8)
        let count = pwrite(file, line, line.count, off_t(turn * Self.placeBytes))
        turn = 1 - turn
        return count == line.count ? nil : (count < 0 ? errno : EIO)
    }
}

extension Heartbeat {
    /// `timerd-heartbeat 1 LIFE BOOT WALL-US AWAKE-NS BOOT-NS SUM`, the sum over all before it.
    var line: String {
        let text =
            "timerd-heartbeat 1 \(life) \(at.bootID) \(at.wall.microsecondsSinceEpoch) "
            + "\(at.awake.nanoseconds) \(at.boot.nanoseconds)"
        return "\(text) \(Self.sum(of: text))"
    }

    /// Reads what `line` writes; nil for anything else.
    init?(line: String) {
        let parts = line.split(separator: " ").map(String.init)
        guard parts.count == 8, parts[0] == "timerd-heartbeat", parts[1] == "1",
            parts[7] == Self.sum(of: parts[..<7].joined(separator: " ")),
            let life = Life.ID(decimal: parts[2]), let bootID = BootID(parts[3]),
            let wall = Int64(decimal: parts[4]), let awake = Int64(decimal: parts[5]),
            let boot = Int64(decimal: parts[6])
        else { return nil }
        let at = Now(
            wall: WallInstant(microsecondsSinceEpoch: wall),
            awake: AwakeInstant(nanoseconds: awake),
            boot: BootInstant(nanoseconds: boot), bootID: bootID)
        self.init(life: life, at: at)
    }

    /// FNV-1a, 64 bits (http://www.isthe.com/chongo/tech/comp/fnv/): against half-written lines, not
    /// against anybody.
    private static func sum(of text: String) -> String {
        let hash = text.utf8.reduce(UInt64(0xcbf2_9ce4_8422_2325)) { hash, byte in
            (hash ^ UInt64(byte)) &* 0x100_0000_01b3
        }
        return String(hash, radix: 16)
    }
}
