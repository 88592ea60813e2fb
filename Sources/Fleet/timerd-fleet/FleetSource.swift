// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import EtcdClient
import Glibc
import HostFiles

/// What the configuration says about etcd, or why it cannot be used.
enum FleetSource: Hashable {
    case etcd(EtcdOptions, lease: Duration)
    /// Why it cannot be used, and what to do.
    case invalid(String)

    /// The longest password, in bytes.
    static let passwordBytesMax = 1024

    /// Checks the options together, and that libcurl can be used with them. The files with
    /// certificates are read at each connection.
    static func checked(_ options: EtcdOptions, lease: Duration) -> Self {
        do throws(EtcdError) {
            _ = try EtcdClient(options, clock: FleetClocks.now)
            return .etcd(options, lease: lease)
        } catch {
            return .invalid("\(error)")
        }
    }

    /// Reads the file with the password: its first line.
    ///
    /// - Throws: `StartFailure`, which says what is wrong with the file.
    static func password(in path: String) throws(StartFailure) -> String {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else {
            let code = errno
            throw StartFailure(
                "password-file in [fleet]: \(path): \(String(cString: strerror(code))); "
                    + "timerd-fleet must be able to read it")
        }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
            let bytes = Descriptor.read(descriptor, upTo: passwordBytesMax + 2)
        else { throw StartFailure("password-file in [fleet]: \(path): it is not a file") }
        let line = bytes.prefix { $0 != 0x0a && $0 != 0x0d }
        guard (1...passwordBytesMax).contains(line.count),
            let password = String(validating: line, as: UTF8.self)
        else {
            throw StartFailure(
                "password-file in [fleet]: \(path): the first line must have 1 to "
                    + "\(passwordBytesMax) bytes of UTF-8")
        }
        return password
    }
}
