# SPDX-License-Identifier: Apache-2.0
"""The requests that the world model answers, put to a real API server."""
