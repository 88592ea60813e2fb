// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import HostFiles
public import TimerCore

/// The time zones of the machine. Each is read from its file once.
public final class ZoneFiles {
    /// The folder of the zone database.
    public static let standardFolder = "/usr/share/zoneinfo"
    /// The file that contains the zone of the machine.
    public static let standardLocal = "/etc/localtime"
    /// The maximum size of a zone file in bytes; the largest today has about 4 KiB.
    public static let bytesMax = 1 << 20

    private let folder: String
    private let localFile: String
    private let environment: String?
    /// The zones that were asked for by their names, with their rules.
    public private(set) var known: [String: ZoneRules] = [:]
    /// The names that were asked for and of which the machine has no file, or none that is valid.
    public private(set) var missing: Set<String> = []
    private let substitute: Substitute

    /// What stands for a zone that the machine does not have.
    public enum Substitute: Sendable {
        /// Nothing: it is an error.
        case none
        /// The rules that it had before, by its name.
        case remembered([String: ZoneRules])
        /// UTC, for a caller who needs no times.
        case utc
    }

    private var knownLocal: ZoneRules?

    /// Uses the zones in this folder, and this file for the zone of the machine.
    ///
    /// - Parameters:
    ///   - environment: the value of the environment variable TZ, which has precedence over that
    ///     file; nil: TZ is not set.
    ///   - substitute: what stands for a zone that is not in the folder.
    public init(
        folder: String = ZoneFiles.standardFolder, local: String = ZoneFiles.standardLocal,
        environment: String? = ZoneEnvironment.value, substitute: Substitute = .none
    ) {
        self.substitute = substitute
        self.folder = folder
        localFile = local
        self.environment = environment
    }

    /// The reason why there are no rules for a zone.
    public struct Failure: Error, Hashable, Sendable, CustomStringConvertible {
        /// What is wrong, and what to do next.
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
        do throws(Failure) {
            let rules = try read("\(folder)/\(name)", as: name)
            known[name] = rules
            return rules
        } catch {
            missing.insert(name)
            guard let rules = substitute(for: name) else { throw error }
            known[name] = rules
            return rules
        }
    }

    private func substitute(for name: String) -> ZoneRules? {
        switch substitute {
        case .none: nil
        case .remembered(let zones): zones[name]
        case .utc: .utc
        }
    }

    /// The rules of the zone of this process: from the environment variable TZ, or from the machine
    /// if TZ is not set or not valid. If the file of the machine does not exist, it is UTC
    /// (localtime(5)).
    public func local() throws(Failure) -> ZoneRules {
        if let knownLocal { return knownLocal }
        let own = environment.flatMap { try? ofEnvironment($0).get() }
        var rules = if let own { own } else { try ofMachine() }
        rules.isLocal = true
        knownLocal = rules
        return rules
    }

    /// The rules with this value of `ZoneRules.name`, which is not always the name of a zone in the
    /// database: the file of the machine may have no name, and TZ may contain a rule instead of a
    /// name.
    public func rules(under name: String) throws(Failure) -> ZoneRules {
        if name == Self.nameless { return try ofMachine() }
        do throws(Failure) { return try rules(named: name) } catch {
            guard let rules = try? ZoneRules(posix: name) else { throw error }
            return rules
        }
    }

    /// Why TZ is not a valid time zone; nil if it is valid or not set.
    var environmentFault: Failure? {
        guard let environment else { return nil }
        if case .failure(let fault) = ofEnvironment(environment) { return fault }
        return nil
    }

    private func ofMachine() throws(Failure) -> ZoneRules {
        guard access(localFile, F_OK) == 0 else { return .utc }
        return try read(localFile, as: localName)
    }

    /// Interprets TZ like the C library: a colon may come first, an empty value is UTC, and a value
    /// that is not the name of a file is a POSIX rule.
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

    /// The name for the zone of the machine if its file does not show one.
    private static let nameless = "localtime"

    /// The part of a path that names a zone.
    private static func name(inPath path: String) -> String? {
        path.firstOccurrence(of: "zoneinfo/").map { String(path[$0.upperBound...]) }
    }

    /// The name of the zone of the machine, from the target of the symbolic link; `localtime` if
    /// the link does not show one.
    private var localName: String {
        var buffer = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let count = buffer.withUnsafeMutableBytes { bytes in
            readlink(localFile, bytes.baseAddress!.assumingMemoryBound(to: CChar.self), bytes.count)
        }
        let path = String(decoding: buffer.prefix(max(0, count)), as: UTF8.self)
        return Self.name(inPath: path) ?? Self.nameless
    }

    /// Links are followed here: the database belongs to root and contains many links.
    private func read(_ path: String, as name: String) throws(Failure) -> ZoneRules {
        let file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard file >= 0 else {
            guard errno == ENOENT || errno == ENOTDIR else {
                throw Failure(
                    description: "\(path): cannot be read: \(String(cString: strerror(errno)))")
            }
            throw Failure(
                description: "\"\(name)\" is not a time zone of this machine; names are such as "
                    + "Europe/Berlin (`timedatectl list-timezones`)")
        }
        defer { close(file) }
        var status = stat()
        guard fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw Failure(
                description: "\"\(name)\" is not a time zone but another file in \(folder)")
        }
        let bytes = Descriptor.read(file, upTo: Self.bytesMax) ?? []
        do throws(ZoneError) {
            return try ZoneRules(tzif: bytes, name: name)
        } catch {
            throw Failure(description: "\(path): \(error)")
        }
    }
}
