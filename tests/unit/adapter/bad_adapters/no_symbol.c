// SPDX-License-Identifier: Apache-2.0
extern int nothing_of_interest;
int nothing_of_interest = 1;
