// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// A format in which `/metrics` answers.
public enum MetricsFormat: RequestQuery {
    /// The text format 0.0.4 of Prometheus.
    case text
    /// OpenMetrics 1.0.
    case openMetrics

    public init() { self = .text }

    /// It is requested with a header.
    public static let parameters: [QueryParameter<MetricsFormat>] = []

    public mutating func read(_ headers: RequestHeaders) {
        self = MetricsFormat(accepted: headers.accepted)
    }

    /// The value of the header `Content-Type`.
    public var contentType: String? { type }

    /// The type of its text.
    public var type: String {
        switch self {
        case .text: "text/plain; version=0.0.4; charset=utf-8"
        case .openMetrics: "application/openmetrics-text; version=1.0.0; charset=utf-8"
        }
    }

    /// The format for a client that accepts this (RFC 9110, 12.5.1): OpenMetrics for one that prefers it to plain text,
    /// as Prometheus does.
    ///
    /// - Parameter accepted: the values of the header `Accept`.
    public init(accepted: [String]) {
        var best = (open: 0.0, text: 0.0)
        for range in accepted.joined(separator: ",").split(separator: ",") {
            let parts = range.split(separator: ";").map { part in
                part.filter { $0 != " " && $0 != "\t" }.lowercased()
            }
            let weight =
                parts.dropFirst().first { $0.hasPrefix("q=") }.map { Double($0.dropFirst(2)) ?? 0 }
                ?? 1
            let version = parts.dropFirst().first { $0.hasPrefix("version=") }?.dropFirst(8)
            switch parts.first {
            case "application/openmetrics-text" where version == nil || version == "1.0.0":
                best.open = max(best.open, weight)
            case "text/plain" where version == nil || version == "0.0.4", "text/*", "*/*":
                best.text = max(best.text, weight)
            default: break
            }
        }
        self = best.open > 0 && best.open >= best.text ? .openMetrics : .text
    }
}
