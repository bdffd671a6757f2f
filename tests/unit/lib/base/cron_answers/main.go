// SPDX-License-Identifier: Apache-2.0

// Writes ../cron_answers.inc: what robfig/cron, which Kubernetes itself uses, says about schedules.
//
//	go run . > ../cron_answers.inc
package main

import (
	"fmt"
	"time"

	"github.com/robfig/cron/v3"
)

var schedules = []string{
	"* * * * *", "*/15 * * * *", "42 */12 * * *", "0 */12 * * *", "1 */12 * * *", "0 0 * * *",
	"30 2 * * *", "0 2 * * *", "30 1 * * *", "0 1 * * *", "59 23 31 12 *", "0 0 29 2 *", "0 0 31 * *",
	"5,10,50 3-5 * * *", "0-30/10 8 * * *", "7/20 * * * *", "0 9 * * mon-fri", "0 9 * * MON,Wed,fri",
	"0 12 1 jan,JUL *", "0 0 13 * fri", "0 0 1-7 * */2", "0 0 */2 * 1", "15 6 ? * 0", "0 0 1 */3 *",
	"@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly",
	"CRON_TZ=America/New_York 30 2 * * *", "CRON_TZ=America/New_York 0 * * * *",
	"CRON_TZ=America/New_York 0 1 * * *", "TZ=America/New_York 30 1 * * *",
	"CRON_TZ=Europe/Berlin 30 2 * * *", "CRON_TZ=Europe/Berlin 0 3 * * *",
	"CRON_TZ=Europe/Berlin 0 0 * * *", "CRON_TZ=Europe/Berlin */20 * * * *",
	"CRON_TZ=Asia/Seoul 0 9 * * 1-5", "CRON_TZ=Asia/Kolkata 15 */6 * * *",
	"CRON_TZ=Australia/Sydney 30 2 * * *",
	"CRON_TZ=America/Sao_Paulo 0 0 * * *", "CRON_TZ=Pacific/Apia 0 12 * * *",
	"CRON_TZ=Africa/Cairo 0 0 * * *", "CRON_TZ=UTC 30 2 * * *",
}

var moments = []string{
	"1999-12-31T23:59:59Z", "2012-03-11T05:00:00Z", "2012-03-11T06:59:59Z", "2012-11-04T04:00:00Z",
	"2012-11-04T05:00:00Z", "2012-11-04T06:30:00Z", "2024-02-28T12:00:30Z", "2024-03-31T00:59:00Z",
	"2024-03-31T01:00:00Z", "2024-10-27T00:00:00Z", "2024-10-27T00:30:00Z", "2024-10-27T01:30:00Z",
	"2026-11-16T11:53:38Z", "2026-04-04T15:00:00Z", "2026-10-03T15:45:00Z", "2036-03-29T23:00:00Z",
	"2049-10-31T00:15:00Z",
}

func main() {
	fmt.Println("/* SPDX-License-Identifier: Apache-2.0 */")
	fmt.Println("/* Written by cron_answers/main.go: schedule, moment, the next time behind it. */")
	for _, text := range schedules {
		schedule, err := cron.ParseStandard(text)
		if err != nil {
			panic(err)
		}
		for _, at := range moments {
			moment, err := time.Parse(time.RFC3339, at)
			if err != nil {
				panic(err)
			}
			next := schedule.Next(moment)
			if next.IsZero() {
				continue
			}
			fmt.Printf("{\"%s\", %d, %d},\n", text, moment.Unix(), next.Unix())
		}
	}
}
