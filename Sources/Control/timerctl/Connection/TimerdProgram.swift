// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc

/// The program `timerd` that is installed with this one, for what needs no daemon but the files of the
/// configuration.
enum TimerdProgram {
    /// Its path: in the directory of this program.
    static var path: String {
        var bytes = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let length = bytes.withUnsafeMutableBytes { buffer in
            buffer.withMemoryRebound(to: CChar.self) {
                readlink("/proc/self/exe", $0.baseAddress!, $0.count)
            }
        }
        let own = String(decoding: bytes[..<max(0, length)], as: UTF8.self)
        guard let slash = own.lastIndex(of: "/") else { return "timerd" }
        return "\(own[..<slash])/timerd"
    }

    /// Runs it with these arguments, with the standard streams of this program, until it ends.
    ///
    /// - Returns: its exit status; -1 if it cannot be started, with the reason in errno.
    static func run(_ arguments: [String]) -> Int32 {
        var pointers: [UnsafePointer<CChar>?] = ([path] + arguments).map {
            UnsafePointer(strdup($0))
        }
        defer { for pointer in pointers { free(UnsafeMutablePointer(mutating: pointer)) } }
        pointers.append(nil)
        return clinux_run(&pointers)
    }

    /// The error if it cannot be started.
    static func startFailure(_ code: Int32) -> String {
        "\(path) cannot be started: \(String(cString: strerror(code)))"
    }
}
