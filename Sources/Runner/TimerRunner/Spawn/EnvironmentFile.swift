// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CSpawn
import Glibc
import TimerCore

/// A file of variables, in the format of systemd's `EnvironmentFile=` (systemd.exec(5)): lines
/// `NAME=value`; blank lines and lines that start with `#` or `;` are ignored. A value may be
/// quoted as in a shell. Within double quotes and without quotes, a backslash quotes the next
/// character, and joins two lines if that is a newline. systemd skips lines that it cannot parse;
/// here such a line is an error, because a job should not run without its credentials.
struct EnvironmentFile {
    /// The most bytes that a file may have.
    static let bytesMax = 1 << 20

    /// What is wrong with a file, and in which line.
    struct Fault: Error, Hashable {
        /// Counted from 1.
        var line: Int
        var what: String
    }

    /// Reads the file with the permissions of the user of the run. The run gets the contents of the
    /// file, so a runner that is root must not read a file for a user who cannot. No part of the path
    /// may be a symbolic link, because the user may own a directory in the path.
    ///
    /// It must be a regular file that is owned by root, the runner's user or the user of the run,
    /// that no other user can write to, and that has only one name (hard link). Another user who can
    /// write to the file could decide what the run executes, with `LD_PRELOAD` for example.
    ///
    /// - Parameters:
    ///   - path: with a `-` in front, the file may be missing.
    ///   - identity: of the user of the run; nil: the runner's user.
    static func load(
        _ path: String, for identity: Account.Identity?
    ) throws(Spawner.Failure) -> [String: String] {
        let isOptional = path.hasPrefix("-")
        let path = isOptional ? String(path.dropFirst()) : path
        let what = "read the environment file \(path)"
        let file = identity?.open(path) ?? cspawn_open_file(path, nil)
        guard file >= 0 else {
            let code = errno
            if isOptional, code == ENOENT { return [:] }
            throw Spawner.failure(code, what + RunFile.hint(for: code, identity))
        }
        let bytes = try RunFile.read(file, for: identity?.user, upTo: bytesMax, what)
        do throws(Fault) {
            return try parse(bytes)
        } catch {
            throw Spawner.failure(EINVAL, "\(what), line \(error.line): \(error.what)")
        }
    }

    /// Parses a file in the format of systemd.exec(5), EnvironmentFile=.
    static func parse(_ bytes: [UInt8]) throws(Fault) -> [String: String] {
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw Fault(line: 1, what: "the file is not UTF-8")
        }
        var parser = Parser(rest: text.unicodeScalars[...])
        var variables: [String: String] = [:]
        while let (name, value) = try parser.next() { variables[name] = value }
        return variables
    }

    private struct Parser {
        var rest: Substring.UnicodeScalarView
        var line = 1

        private mutating func take() -> Unicode.Scalar? {
            let scalar = rest.popFirst()
            if scalar == "\n" { line += 1 }
            return scalar
        }

        /// Reads the next variable; nil at the end.
        mutating func next() throws(Fault) -> (String, String)? {
            while let first = rest.first {
                switch first {
                case " ", "\t", "\r", "\n": _ = take()
                case "#", ";": while let scalar = take(), scalar != "\n" {}
                default: return (try name(), try value())
                }
            }
            return nil
        }

        private mutating func name() throws(Fault) -> String {
            var name = ""
            let start = line
            while let scalar = take(), scalar != "\n" {
                guard scalar == "=" else {
                    name.unicodeScalars.append(scalar)
                    continue
                }
                while name.last == " " || name.last == "\t" { name.removeLast() }
                if let fault = EnvironmentFile.fault(inName: name) {
                    throw Fault(line: start, what: fault)
                }
                return name
            }
            throw Fault(line: start, what: "not of the form NAME=value")
        }

        private mutating func value() throws(Fault) -> String {
            var value = String.UnicodeScalarView()
            // How many characters remain when the spaces at the end are removed. A quoted space is
            // not removed.
            var kept = 0
            while let scalar = rest.first, scalar == " " || scalar == "\t" { _ = take() }
            let start = line
            while let scalar = take(), scalar != "\n" {
                switch scalar {
                case "'", "\"":
                    try quoted(by: scalar, from: start, into: &value)
                    kept = value.count
                case "\\":
                    guard let next = take() else { continue }
                    if next != "\n" { value.append(next) }
                    kept = value.count
                case " ", "\t", "\r": value.append(scalar)
                default:
                    value.append(scalar)
                    kept = value.count
                }
            }
            value.removeLast(value.count - kept)
            guard !value.contains("\0") else { throw Fault(line: start, what: "a NUL character") }
            return String(value)
        }

        private mutating func quoted(
            by quote: Unicode.Scalar, from start: Int, into value: inout String.UnicodeScalarView
        ) throws(Fault) {
            while let scalar = take() {
                if scalar == quote { return }
                guard scalar == "\\", quote == "\"", let next = rest.first else {
                    value.append(scalar)
                    continue
                }
                // As in a shell, any other backslash is kept.
                switch next {
                case "\"", "\\", "`", "$": value.append(next)
                case "\n": break
                default:
                    value.append(scalar)
                    continue
                }
                _ = take()
            }
            throw Fault(line: start, what: "a quote is not closed")
        }
    }

    /// What is wrong with the name of a variable; nil if it is valid. Everyone can read this
    /// message, so it does not contain the text, which may be a line of a secret key.
    private static func fault(inName name: String) -> String? {
        guard VariableName.isValid(name) else {
            return "the text before the = is not a valid variable name"
        }
        return VariableName.isReserved(name) ? "\(name) is reserved for timerd and systemd" : nil
    }
}
