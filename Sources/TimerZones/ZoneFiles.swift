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
    private let environment: String?
    private var known: [String: ZoneRules] = [:]

    /// The zones below a folder, and the file of the machine's own.
    ///
    /// - Parameter environment: what the environment variable TZ says, which goes before that file; nil: TZ
    ///   is not set.
    public init(
        folder: String = ZoneFiles.standardFolder, local: String = ZoneFiles.standardLocal,
        environment: String? = ZoneEnvironment.value
    ) {
        self.folder = folder
        localFile = local
        self.environment = environment
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

    /// The rules of the zone of this process: of the environment variable TZ, or if that is not set or no time
    /// zone, of the machine. Without the machine's file it is UTC (localtime(5)).
    public func local() throws(Failure) -> ZoneRules {
        let own = environment.flatMap { try? ofEnvironment($0).get() }
        var rules = if let own { own } else { try ofMachine() }
        rules.isLocal = true
        return rules
    }

    /// The rules of a zone by the name that its rules have, which is not always that of a zone of the
    /// database: the machine's own file may tell none, and TZ may be a rule of its own.
    public func rules(under name: String) throws(Failure) -> ZoneRules {
        if name == Self.nameless { return try ofMachine() }
        do throws(Failure) { return try rules(named: name) } catch {
            guard let rules = try? ZoneRules(posix: name) else { throw error }
            return rules
        }
    }

    /// Why what TZ says is no time zone; nil if it is one, or TZ is not set.
    var environmentFault: Failure? {
        guard let environment else { return nil }
        if case .failure(let fault) = ofEnvironment(environment) { return fault }
        return nil
    }

    private func ofMachine() throws(Failure) -> ZoneRules {
        guard access(localFile, F_OK) == 0 else { return .utc }
        return try read(localFile, as: localName)
    }

    /// As the C library reads it: a colon may come first, nothing is UTC, and what is no file is a rule of
    /// POSIX.
    private func ofEnvironment(_ value: String) -> Result<ZoneRules, Failure> {
        let text = value.hasPrefix(":") ? String(value.dropFirst()) : value
        guard !text.isEmpty else { return .success(.utc) }
        if text == localFile { return Result { () throws(Failure) in try ofMachine() } }
        if text.hasPrefix("/") {
            let name = Self.name(inPath: text) ?? text
            return Result { () throws(Failure) in try read(text, as: name) }
        }
        let named = Result { () throws(Failure) in try rules(named: text) }
        if case .failure = named, let rules = try? ZoneRules(posix: text) { return .success(rules) }
        return named
    }

    /// What the machine's own zone is called if its file tells no name.
    private static let nameless = "localtime"

    /// The part of a path that names a zone.
    private static func name(inPath path: String) -> String? {
        path.firstRange(of: "zoneinfo/").map { String(path[$0.upperBound...]) }
    }

    /// The name of the machine's own zone, from where its file's link leads; `localtime` if that tells none.
    private var localName: String {
        var buffer = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let count = buffer.withUnsafeMutableBytes { bytes in
            readlink(localFile, bytes.baseAddress!.assumingMemoryBound(to: CChar.self), bytes.count)
        }
        let path = String(decoding: buffer.prefix(max(0, count)), as: UTF8.self)
        return Self.name(inPath: path) ?? Self.nameless
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
