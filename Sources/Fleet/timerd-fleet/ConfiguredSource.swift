// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CLinux
import EtcdClient
import Glibc
import TimerConfig

extension FleetSource {
    /// Reads the table `[fleet]` of a configuration.
    static func read(_ path: String) -> Self {
        // Parsing needs several times the memory of its result.
        defer { clinux_heap_give_back() }
        do throws(ConfigError) {
            guard
                let fleet = try ConfigReader.fleetSettings(path: path, ownerUID: geteuid())
            else {
                return .invalid(
                    "\(path): there is no table [fleet]; add it, and run: systemctl reload timerd "
                        + "timerd-fleet")
            }
            return read(fleet)
        } catch {
            return .invalid("\(error)")
        }
    }

    private static func read(_ fleet: FleetSettings) -> Self {
        var options = EtcdOptions(endpoints: fleet.etcd, fleet: fleet.name)
        options.ca = fleet.ca
        options.certificate = fleet.certificate
        options.key = fleet.key
        options.user = fleet.user
        do throws(StartFailure) {
            if let file = fleet.passwordFile { options.password = try password(in: file) }
        } catch {
            return .invalid(error.description)
        }
        return checked(options, lease: fleet.lease)
    }
}
