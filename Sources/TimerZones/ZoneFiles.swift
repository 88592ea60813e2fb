// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
public import TimerCore

/// The machine's own time zones, read from its files, each once.
public final class ZoneFiles {
    /// Where the zone database is.
    public static let standardFolder = "/usr/share/zoneinfo"
    /// The file of the machine's own zone.
    public static let standardLocal = "/etc/localtime"
    /// The most bytes of a zone's file; the largest today has some 4 KiB.
    public static let bytesMax = 1 << 20

    private let folder: String
    private let localFile: String
    private var known: [String: ZoneRules] = [:]

    /// The zones below a folder, and the file of the machine's own.
    public init(
        folder: String = ZoneFiles.standardFolder, local: String = ZoneFiles.standardLocal
    ) {
        self.folder = folder
        localFile = local
    }

    /// Why there are no rules for a zone.
    public struct Failure: Error, Hashable, Sendable, CustomStringConvertible {
        /// What is wrong with it, and what to do next.
        public let description: String
    }

    /// The rules of a zone of the IANA database, such as `Europe/Berlin`.
    public func rules(named name: String) throws(Failure) -> ZoneRules {
        if let rules = known[name] { return rules }
        if name == "UTC" { return .utc }
        let parts = name.split(separator: "/", omittingEmptySubsequences: false)
        let isName = parts.allSatisfy { part in
            !part.isEmpty && part.first != "."
                && part.utf8.allSatisfy { byte in
                    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                        || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
                        || "+-_.".utf8.contains(byte)
                }
        }
        guard isName, name.utf8.count <= 255 else {
            throw Failure(description: "\"\(name)\" is not the name of a time zone")
        }
        let rules = try read("\(folder)/\(name)", as: name)
        known[name] = rules
        return rules
    }

    /// The rules of the machine's own zone. Without the file it is UTC (localtime(5)).
    public func local() throws(Failure) -> ZoneRules {
        var rules = ZoneRules.utc
        if access(localFile, F_OK) == 0 { rules = try read(localFile, as: localName) }
        rules.isLocal = true
        return rules
    }

    /// The name of the machine's own zone, from where its file's link leads; `localtime` if that tells none.
    private var localName: String {
        var buffer = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let count = buffer.withUnsafeMutableBytes { bytes in
            readlink(localFile, bytes.baseAddress!.assumingMemoryBound(to: CChar.self), bytes.count)
        }
        let path = String(decoding: buffer.prefix(max(0, count)), as: UTF8.self)
        guard let range = path.firstRange(of: "zoneinfo/") else { return "localtime" }
        return String(path[range.upperBound...])
    }

    /// The database is root's, and full of links by its own right: they are followed.
    private func read(_ path: String, as name: String) throws(Failure) -> ZoneRules {
        let file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard file >= 0 else {
            guard errno == ENOENT || errno == ENOTDIR else {
                throw Failure(
                    description: "\(path): cannot be read: \(String(cString: strerror(errno)))")
            }
            throw Failure(
                description: "\"\(name)\" is no time zone of this machine; names are such as "
                    + "Europe/Berlin (`timedatectl list-timezones`)")
        }
        defer { close(file) }
        var status = stat()
        guard fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw Failure(
                description: "\"\(name)\" is no time zone but something else in \(folder)")
        }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 16_384)
        while bytes.count <= Self.bytesMax {
            let count = Glibc.read(file, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { break }
            bytes += buffer[..<count]
        }
        do throws(ZoneError) {
            return try ZoneRules(tzif: bytes, name: name)
        } catch {
            throw Failure(description: "\(path): \(error)")
        }
    }
}
